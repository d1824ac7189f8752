-- What 40_history.sql calls: a function whose statements, trigger and handled error nest.
CREATE SCHEMA shop;
CREATE TABLE shop.stock (item int PRIMARY KEY, pieces int NOT NULL CHECK (pieces >= 0));
CREATE TABLE shop.orders (id bigint GENERATED ALWAYS AS IDENTITY, item int, pieces int);
INSERT INTO shop.stock SELECT i, 100 FROM generate_series(1, 1000) AS i;

CREATE FUNCTION shop.take_from_stock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE shop.stock SET pieces = stock.pieces - NEW.pieces WHERE item = NEW.item;
	RETURN NEW;
END $$;
CREATE TRIGGER take BEFORE INSERT ON shop.orders
	FOR EACH ROW EXECUTE FUNCTION shop.take_from_stock();

CREATE FUNCTION shop.place_order(item int, pieces int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO shop.orders (item, pieces) VALUES (place_order.item, place_order.pieces);
	RETURN 'ordered';
EXCEPTION WHEN check_violation THEN
	RETURN 'sold out';
END $$;

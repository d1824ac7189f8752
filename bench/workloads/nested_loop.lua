-- E5's load: one event calls a stored procedure that runs 50 turns of
-- { set a variable; select it into another; commit; add one }: 200 statements, none touches a table.
--
--   sysbench nested_loop.lua --db-driver=mysql|pgsql ... prepare | run | cleanup
--
-- PL/pgSQL evaluates a plain assignment without executing a statement, so there was nothing for a
-- server to instrument; SELECT ... INTO is executed, as MySQL's SET is. COMMIT is a statement of
-- PL/pgSQL itself, and allowed because CALL is sent outside a transaction block.
-- Options of the tables (--tables, --table-size) are accepted and not used.

sysbench.cmdline.options = {
   turns = {"Turns of the loop", 50},
   tables = {"Not used", 1},
   table_size = {"Not used", 1},
}

local procedure = {
   mysql = [[
CREATE PROCEDURE nested_loop(turns int)
BEGIN
   DECLARE i, x, y int DEFAULT 0;
   WHILE i < turns DO
      SET x = i;
      SELECT x INTO y;
      COMMIT;
      SET i = i + 1;
   END WHILE;
END]],
   pgsql = [[
CREATE PROCEDURE nested_loop(turns int) LANGUAGE plpgsql AS $$
DECLARE
   i int := 0;
   x int;
   y int;
BEGIN
   WHILE i < turns LOOP
      SELECT i INTO x;
      SELECT x INTO y;
      COMMIT;
      SELECT i + 1 INTO i;
   END LOOP;
END $$]],
}

local function connect()
   local drv = sysbench.sql.driver()
   return drv, drv:connect()
end

function prepare()
   local drv, con = connect()
   con:query("DROP PROCEDURE IF EXISTS nested_loop")
   con:query(procedure[drv:name()])
end

function cleanup()
   local _, con = connect()
   con:query("DROP PROCEDURE IF EXISTS nested_loop")
end

function thread_init()
   _, con = connect()
   call = string.format("CALL nested_loop(%d)", sysbench.opt.turns)
end

function thread_done()
   con:disconnect()
end

function event()
   con:query(call)
end

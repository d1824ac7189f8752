"""A report of what a server did in an interval: one HTML page that can be read anywhere.

sources.py says what is read, snapshot.py reads it twice and subtracts, figures.py makes of it what a
reader wants to know, charts.py draws, page.py and page.html put it together. All times inside are
picoseconds, as in the tables; text.py writes them with units.
"""

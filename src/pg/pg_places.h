/*
 * pg_places.h
 *		Functions that know their number: one for each of 64 places.
 *
 * The executor calls a plan node by a pointer in the node.  A function of ours put there learns only
 * the node, and a look-up for each row would cost more than the call; so there is one function for
 * each place where something about a node is kept.
 */
#ifndef PFS_PG_PLACES_H
#define PFS_PG_PLACES_H

#define PFS_PG_PLACES 64		/* bits of a word */

/* m(n) for all places; the numbers are octal, without the leading 0. */
#define PFS_PG_EIGHT_PLACES(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7)
#define PFS_PG_ALL_PLACES(m) \
	PFS_PG_EIGHT_PLACES(m, 0) PFS_PG_EIGHT_PLACES(m, 1) PFS_PG_EIGHT_PLACES(m, 2) \
	PFS_PG_EIGHT_PLACES(m, 3) PFS_PG_EIGHT_PLACES(m, 4) PFS_PG_EIGHT_PLACES(m, 5) \
	PFS_PG_EIGHT_PLACES(m, 6) PFS_PG_EIGHT_PLACES(m, 7)

#endif							/* PFS_PG_PLACES_H */

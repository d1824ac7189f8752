/*
 * pg_port.h
 *		The server's connection structures.
 *
 * Where the server was built with GSSAPI, its headers want that library's headers too, which live
 * in another package.  The structs have the same layout without (a pointer stays a pointer).
 */
#ifndef PFS_PG_PORT_H
#define PFS_PG_PORT_H

#include "postgres.h"

#undef ENABLE_GSS
#include "libpq/libpq-be.h"
#include "libpq/libpq.h"

#endif							/* PFS_PG_PORT_H */

/*
 * page.h
 *		Inside src/interpose: writing into memory that may be read-only.
 */
#ifndef PFS_PAGE_H
#define PFS_PAGE_H

#include "core/base.h"

/* The page written last and its protection, so that the list of mappings is read once per page. */
typedef struct PfsPage
{
	uintptr_t	start;			/* 0 = none */
	int			protection;		/* PROT_... */
} PfsPage;

/*
 * Writes one aligned pointer and leaves the page as protected as it was.  Returns 0, or the errno
 * of what was refused; then nothing is written.  page is zero at first, and only for calls between
 * which nobody else changes protections.
 */
extern int	pfs_page_write(PfsPage *page, void **slot, void *value);

/* Protection of the page that holds the address: 0 and *protection, or an errno. */
extern int	pfs_page_protection(const void *address, int *protection);

#endif							/* PFS_PAGE_H */

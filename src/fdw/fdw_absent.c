/*
 * fdw_absent.c
 *		Who switches instruments that MySQL has and this server has not is told so, and where to look instead.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"

#include "fdw/fdw.h"

static const char *const absent[] = {
	"memory/", "stage/", "statement/sp/", "statement/abstract/", "wait/synch/mutex/", "wait/synch/rwlock/",
	"wait/synch/sxlock/", "wait/synch/prlock/", "wait/synch/cond/", "wait/lock/metadata/", "wait/lock/table/",
	"wait/io/file/innodb/", "wait/io/file/sql/", "wait/io/file/myisam/",
};

static void
tell(const char *pattern)
{
	for (size_t i = 0; i < lengthof(absent); i++)
		if (pg_strncasecmp(pattern, absent[i], strlen(absent[i])) == 0)
			ereport(NOTICE,
					(errmsg("there are no instruments \"%s%%\" here", absent[i]),
					 errhint("docs/mysql_to_postgresql.md says what there is instead.")));
}

/* Of an UPDATE's condition: names and patterns of it are constants. */
static bool
tell_of_constants(Node *node, void *context)
{
	const Const *constant = (const Const *) node;

	if (node == NULL)
		return false;
	if (IsA(node, Const) && constant->consttype == TEXTOID && !constant->constisnull)
		tell(TextDatumGetCString(constant->constvalue));
	return expression_tree_walker(node, tell_of_constants, context);
}

void
pfs_fdw_tell_absent(List *conditions)
{
	(void) tell_of_constants((Node *) conditions, NULL);
}

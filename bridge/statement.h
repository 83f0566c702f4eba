#ifndef BRIDGE_STATEMENT_H
#define BRIDGE_STATEMENT_H

/*
 * Whether Python code can only be statements, judged by how it begins: whoever
 * tries a cell as an expression first need not try then. Most cells begin so, and
 * a SyntaxError costs more than compiling them.
 */

#include <stdbool.h>

#include "bridge/slice.h"

/* true: no expression begins so. false: it may be one. UTF-8. */
bool statement_begins(struct slice code);

#endif

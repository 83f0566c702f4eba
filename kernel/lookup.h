#ifndef KERNEL_LOOKUP_H
#define KERNEL_LOOKUP_H

/*
 * What Python code may ask about requests: ipykernel's get_parent("control"), _parent_ident
 * and set_parent() stand on it. Nothing of this goes along with each request, since hardly
 * any code asks.
 */

#include <stdint.h>

#include "bridge/slice.h"

struct kernel;

/*
 * Sends the worker the answer of that serial. `kind` "control": the last message on control,
 * "message": the request with that msg_id. An object with number (at the door; 0: it never
 * came there), identities (the routing frames, hexadecimal) and header; empty: not known.
 */
void lookup_answer(struct kernel *kernel, uint64_t serial, struct slice kind, struct slice msg_id);

#endif

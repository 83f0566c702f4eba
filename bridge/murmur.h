#ifndef BRIDGE_MURMUR_H
#define BRIDGE_MURMUR_H

/*
 * MurmurHash2, 32 bits: the hash by which debuggers find the file of a cell
 * (`hashMethod` "Murmur2" of a debugInfo reply, messaging spec "Debug request").
 */

#include "bridge/slice.h"

uint32_t murmur2(struct slice bytes, uint32_t seed);

#endif

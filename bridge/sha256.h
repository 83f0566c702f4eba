#ifndef BRIDGE_SHA256_H
#define BRIDGE_SHA256_H

/*
 * SHA-256 (FIPS 180-4). The worker links no crypto library, and a Python module
 * that a cell can replace is not what a fingerprint may come from.
 */

#include "bridge/slice.h"

enum { SHA256_BYTES = 32 };

void sha256(struct slice bytes, uint8_t ret_digest[SHA256_BYTES]);

/* The digest in 64 hexadecimal digits and a NUL. */
void sha256_hex(struct slice bytes, char ret_text[2 * SHA256_BYTES + 1]);

#endif

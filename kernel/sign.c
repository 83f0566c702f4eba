/*
 * HMAC of messages.
 *
 * Runs in the kernel process, on the thread of its owner. The digest's state after the
 * key is made once per signer and copied for each message, which is most of the
 * cost of a short one. The only copy of the key is OpenSSL's, and that lies in
 * OpenSSL's secure heap (locked, between guard pages, wiped when freed). From
 * OpenSSL's start-up everything is left out that HMAC does not need: of 1 ms,
 * a quarter remains. A signer owns its context.
 */

#include "kernel/sign.h"

#include <ctype.h>
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sodium.h>

#include "bridge/check.h"
#include "bridge/xalloc.h"

enum {
    SECURE_HEAP = 16 << 10, /* bytes, locked: room for the longest keys of two signers */
    SECURE_MIN = 32,        /* its smallest piece */
    DIGEST_NAME_MAX = 32,
};

struct signer {
    EVP_MAC_CTX *context; /* NULL: no key, no signatures */
};

/* Where Python's hashlib and OpenSSL differ by more than a dash. */
static const struct {
    const char *python, *openssl;
} digest_names[] = {
    {"blake2b", "BLAKE2B-512"},
    {"blake2s", "BLAKE2S-256"},
};

static void start_library(void)
{
    uint64_t leave_out = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS |
                         OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS;
    CHECK(OPENSSL_init_crypto(leave_out, NULL) == 1);
    CHECK(sodium_init() >= 0);
    if (!CRYPTO_secure_malloc_initialized()) {
        /* Where it cannot be had (limits of a container), the key lies in the common heap. */
        (void)CRYPTO_secure_malloc_init(SECURE_HEAP, SECURE_MIN);
    }
}

/* "hmac-sha3_256" -> "sha3-256", which OpenSSL knows in any case of letters. */
static int digest_name(const char *scheme, char ret_name[DIGEST_NAME_MAX])
{
    static const char prefix[] = "hmac-";
    size_t skip = sizeof prefix - 1;
    if (strncmp(scheme, prefix, skip) != 0) {
        return -EINVAL;
    }
    const char *name = scheme + skip;
    for (size_t i = 0; i < sizeof digest_names / sizeof digest_names[0]; i++) {
        if (strcmp(name, digest_names[i].python) == 0) {
            name = digest_names[i].openssl;
        }
    }
    size_t n = strlen(name);
    if (n == 0 || n >= DIGEST_NAME_MAX) {
        return -EINVAL;
    }
    char clean[DIGEST_NAME_MAX] = "";
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)name[i]) && strchr("-_/", name[i]) == NULL) {
            return -EINVAL;
        }
        clean[i] = name[i];
        if (clean[i] == '_') {
            clean[i] = '-';
        }
    }
    memcpy(ret_name, clean, sizeof clean);
    return 0;
}

/* -> a context that has taken the key in; NULL: the digest is none for HMAC (SHAKE). */
static EVP_MAC_CTX *context_new(const EVP_MD *digest, struct slice key)
{
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    CHECK(hmac != NULL);
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(hmac);
    CHECK(context != NULL);
    EVP_MAC_free(hmac);

    char name[DIGEST_NAME_MAX];
    (void)snprintf(name, sizeof name, "%s", EVP_MD_get0_name(digest));
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
        OSSL_PARAM_construct_end(),
    };
    if (EVP_MAC_init(context, key.p, key.n, parameters) != 1) {
        EVP_MAC_CTX_free(context);
        return NULL;
    }
    return context;
}

int signer_new(const char *scheme, struct slice key, struct signer **ret_signer)
{
    char name[DIGEST_NAME_MAX];
    if (key.n == 0) {
        *ret_signer = xcalloc(1, sizeof **ret_signer);
        return 0;
    }
    if (key.n > SIGN_KEY_MAX || digest_name(scheme, name) != 0) {
        return -EINVAL;
    }
    start_library();
    EVP_MD *digest = EVP_MD_fetch(NULL, name, NULL);
    if (digest == NULL) {
        return -EINVAL;
    }
    EVP_MAC_CTX *context = context_new(digest, key);
    EVP_MD_free(digest);
    if (context == NULL) {
        return -EINVAL;
    }
    struct signer *self = xcalloc(1, sizeof *self);
    self->context = context;
    *ret_signer = self;
    return 0;
}

void signer_destroy(struct signer **self_p)
{
    struct signer *self = *self_p;
    if (self == NULL) {
        return;
    }
    EVP_MAC_CTX_free(self->context);
    free(self);
    *self_p = NULL;
}

void signer_start(struct signer *self)
{
    if (self->context != NULL) {
        CHECK(EVP_MAC_init(self->context, NULL, 0, NULL) == 1);
    }
}

void signer_add(struct signer *self, struct slice part)
{
    if (self->context != NULL && part.n > 0) {
        CHECK(EVP_MAC_update(self->context, part.p, part.n) == 1);
    }
}

size_t signer_finish(struct signer *self, char ret_hex[SIGN_HEX_MAX])
{
    static const char digits[] = "0123456789abcdef";
    if (self->context == NULL) {
        return 0;
    }
    uint8_t bytes[SIGN_HEX_MAX / 2];
    size_t n;
    CHECK(EVP_MAC_final(self->context, bytes, &n, sizeof bytes) == 1);
    for (size_t i = 0; i < n; i++) {
        ret_hex[2 * i] = digits[bytes[i] >> 4];
        ret_hex[2 * i + 1] = digits[bytes[i] & 0xF];
    }
    return 2 * n;
}

bool signer_verify(struct signer *self, const struct slice *part, size_t count,
                   struct slice signature)
{
    char hex[SIGN_HEX_MAX];
    signer_start(self);
    for (size_t i = 0; i < count; i++) {
        signer_add(self, part[i]);
    }
    size_t n = signer_finish(self, hex);
    /* How long a right signature is, is no secret. */
    return signature.n == n && sodium_memcmp(hex, signature.p, n) == 0;
}

/*
 * kernel/sign.c: RFC 4231's vectors, the schemes' names as Python has them, and
 * what verification refuses.
 */

#include "kernel/sign.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *sign(struct signer *signer, struct slice part, char hex[SIGN_HEX_MAX + 1])
{
    signer_start(signer);
    signer_add(signer, part);
    hex[signer_finish(signer, hex)] = '\0';
    return hex;
}

#define BYTES(literal)                                                                             \
    {                                                                                              \
        (const uint8_t *)(literal), sizeof(literal) - 1                                            \
    }
#define X10(text) text text text text text text text text text text
#define AA131     X10("\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa") "\xaa"

static const struct {
    struct slice key, text;
    const char *sha256, *sha512;
} vectors[] = {
    {BYTES(X10("\x0b\x0b")), BYTES("Hi There"),
     "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
     "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde"
     "daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854"},
    {BYTES("Jefe"), BYTES("what do ya want for nothing?"),
     "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
     "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
     "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"},
    {BYTES(X10("\xaa\xaa")), BYTES(X10("\xdd\xdd\xdd\xdd\xdd")),
     "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
     "fa73b0089d56a284efb0f0756c890be9b1b5dbdd8ee81a3655f83e33b2279d39"
     "bf3e848279a722c806b485a47e67c807b946a337bee8942674278859e13292fb"},
    {BYTES("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15"
           "\x16\x17\x18\x19"),
     BYTES(X10("\xcd\xcd\xcd\xcd\xcd")),
     "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
     "b0ba465637458c6990e5a8c5f61d4af7e576d97ff94b872de76f8050361ee3db"
     "a91ca5c11aa25eb4d679275cc5788063a5f19741120c4f2de2adebeb10a298dd"},
    {BYTES(AA131), BYTES("Test Using Larger Than Block-Size Key - Hash Key First"),
     "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
     "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352"
     "6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598"},
    {BYTES(AA131),
     BYTES("This is a test using a larger than block-size key and a larger than block-size data. "
           "The key needs to be hashed before being used by the HMAC algorithm."),
     "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
     "e37b6a775dc87dbaa4dfa9f96e5e3ffddebd71f8867289865df5a32d20cdc944"
     "b6022cac3c4982b10d5eeb55c3e4de15134676fb6de0446065c97440fa8c6a58"},
};

Test(sign, vectors_of_rfc_4231_come_out_again_and_again)
{
    for (size_t i = 0; i < COUNT(vectors); i++) {
        static const char *const schemes[] = {"hmac-sha256", "hmac-sha512"};
        for (size_t k = 0; k < 2; k++) {
            struct signer *signer = NULL;
            char hex[SIGN_HEX_MAX + 1];
            const char *expected = k == 0 ? vectors[i].sha256 : vectors[i].sha512;
            cr_assert(eq(int, signer_new(schemes[k], vectors[i].key, &signer), 0));
            cr_expect(strcmp(sign(signer, vectors[i].text, hex), expected) == 0, "vector %zu", i);
            cr_expect(strcmp(sign(signer, vectors[i].text, hex), expected) == 0, "again, %zu", i);
            signer_destroy(&signer);
        }
    }
}

/* HMAC of "abcd" under "key"; from Python's hmac module. */
static const struct {
    const char *scheme, *hex;
} schemes[] = {
    {"hmac-md5", "660045f6b6082f2123dd1d4c56398712"},
    {"hmac-sha1", "cf9c255c008d12d46771fce1333926dd4194e798"},
    {"hmac-sha224", "787a80bd06f5443febc942fc8cef91b1af995ce9efe35272d5504e92"},
    {"hmac-sha256", "2a31ec0ee8d878c9eece9fb0df79b3b90b2256240163aa5ee50d176d3d1121f8"},
    {"hmac-SHA256", "2a31ec0ee8d878c9eece9fb0df79b3b90b2256240163aa5ee50d176d3d1121f8"},
    {"hmac-sha384", "5998d18575a1748b235dc41b6aca9652bdc508ea8b9e7df21def9e33088b29ff"
                    "e3662a57066c0c067b9e9a055832fd7e"},
    {"hmac-sha512_256", "7b8efdbf84d578d68b3f5cc5e45580ab2eb65892649754db2580fefd09990e64"},
    {"hmac-sha3_256", "bdb6283d1bf9c84a767ec1b5675ecc02d023b474c6c7ea8a500b30fb67e09206"},
    {"hmac-sha3_512", "9dd73c83d2002696c77748234ef40661a12b0c009b18b1f68eef262830e32de8"
                      "893babdf445bb5a64fff12b247f7a750cf6352c3d3b5f1fd4adb183dbd540df0"},
    {"hmac-blake2b", "ed009662eda333ec6aa479b3e85c2f9dbda5a2565f4bf42339e5a3ac6a942d25"
                     "163d026716c7d28f067afa43d52ad42cc696caf4bfe2819f6bea14730699c12f"},
    {"hmac-blake2s", "11f2d63be26371608f1cc0e6c129dc03e3e70c4e7d1253b0c60f168da21803a1"},
};

Test(sign, schemes_are_known_by_the_names_of_hashlib)
{
    for (size_t i = 0; i < COUNT(schemes); i++) {
        struct signer *signer = NULL;
        char hex[SIGN_HEX_MAX + 1];
        cr_assert(eq(int, signer_new(schemes[i].scheme, slice_of("key"), &signer), 0), "%s",
                  schemes[i].scheme);
        cr_expect(strcmp(sign(signer, slice_of("abcd"), hex), schemes[i].hex) == 0, "%s",
                  schemes[i].scheme);
        signer_destroy(&signer);
    }
}

Test(sign, unknown_schemes_are_refused)
{
    static const char *const unknown[] = {
        "",
        "sha256",
        "hmac",
        "hmac-",
        "hmac-sha257",
        "hmac-sha 1",
        "hmac-shake_128",
        "hmac-shake256",
        "hmac-sha256:provider=default",
        "HMAC-sha256",
        "hmac-a-name-that-is-much-longer-than-any-digest-has",
    };
    for (size_t i = 0; i < COUNT(unknown); i++) {
        struct signer *signer = NULL;
        cr_expect(eq(int, signer_new(unknown[i], slice_of("key"), &signer), -EINVAL), "%s",
                  unknown[i]);
        cr_expect(eq(ptr, signer, NULL));
    }
}

Test(sign, keys_are_taken_up_to_the_limit)
{
    static uint8_t key[SIGN_KEY_MAX + 1];
    struct signer *first = NULL, *second = NULL, *third = NULL;
    cr_expect(eq(int, signer_new("hmac-sha256", (struct slice){key, SIGN_KEY_MAX}, &first), 0));
    cr_expect(eq(int, signer_new("hmac-sha256", (struct slice){key, SIGN_KEY_MAX}, &second), 0));
    cr_expect(
        eq(int, signer_new("hmac-sha256", (struct slice){key, SIGN_KEY_MAX + 1}, &third), -EINVAL));
    signer_destroy(&first);
    signer_destroy(&second);
    signer_destroy(&second);
}

static const struct slice parts[] = {BYTES("a"), BYTES("b"), {NULL, 0}, BYTES("cd")};

Test(sign, parts_are_signed_as_if_they_were_one)
{
    struct signer *signer = NULL;
    cr_assert(eq(int, signer_new("hmac-sha256", slice_of("key"), &signer), 0));
    struct slice right =
        slice_of("2a31ec0ee8d878c9eece9fb0df79b3b90b2256240163aa5ee50d176d3d1121f8");
    cr_expect(signer_verify(signer, parts, COUNT(parts), right));
    cr_expect(signer_verify(signer, parts, COUNT(parts), right));
    signer_destroy(&signer);
}

Test(sign, anything_but_the_right_signature_is_refused)
{
    struct signer *signer = NULL;
    cr_assert(eq(int, signer_new("hmac-sha256", slice_of("key"), &signer), 0));
    static const char right[] = "2a31ec0ee8d878c9eece9fb0df79b3b90b2256240163aa5ee50d176d3d1121f8";
    for (size_t i = 0; i < sizeof right - 1; i++) {
        char wrong[sizeof right];
        memcpy(wrong, right, sizeof right);
        wrong[i] = wrong[i] == '0' ? '1' : '0';
        cr_expect(not(signer_verify(signer, parts, COUNT(parts), slice_of(wrong))), "digit %zu", i);
    }
    static const char *const wrong[] = {
        "",
        "2",
        "2a31ec0ee8d878c9eece9fb0df79b3b90b2256240163aa5ee50d176d3d1121f",
        "2a31ec0ee8d878c9eece9fb0df79b3b90b2256240163aa5ee50d176d3d1121f80",
        "2A31EC0EE8D878C9EECE9FB0DF79B3B90B2256240163AA5EE50D176D3D1121F8",
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        cr_expect(not(signer_verify(signer, parts, COUNT(parts), slice_of(wrong[i]))));
    }
    /* Another order, another text. */
    static const struct slice swapped[] = {BYTES("b"), BYTES("a"), BYTES("cd")};
    cr_expect(not(signer_verify(signer, swapped, COUNT(swapped), slice_of(right))));
    signer_destroy(&signer);
}

Test(sign, without_a_key_only_the_empty_signature_is_right)
{
    struct signer *signer = NULL;
    char hex[SIGN_HEX_MAX];
    cr_assert(eq(int, signer_new("whatever", slice_of(""), &signer), 0));
    signer_start(signer);
    signer_add(signer, slice_of("text"));
    cr_expect(eq(sz, signer_finish(signer, hex), 0));
    cr_expect(signer_verify(signer, parts, COUNT(parts), slice_of("")));
    cr_expect(not(signer_verify(signer, parts, COUNT(parts), slice_of("2a"))));
    signer_destroy(&signer);
    signer_destroy(&signer);
}

// Reads messages from standard input, each after its size as a 32-bit
// little-endian number, and prints a line of a character for each way to
// verify one: y if Google's verifier accepts it, n if not.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "monster_generated.h"

int main() {
  uint32_t size;
  while (fread(&size, 1, 4, stdin) == 4) {
    // Memory of the exact size, aligned as the format asks.
    uint8_t* buf = static_cast<uint8_t*>(aligned_alloc(64, (size + 64) & ~63u));
    if (fread(buf, 1, size, stdin) != size) return 1;
    flatbuffers::Verifier::Options strict, loose;
    loose.check_alignment = false;
    flatbuffers::Verifier plain(buf, size, strict), unaligned(buf, size, loose), prefixed(buf, size, strict), prefixed64(buf, size, strict);
    putchar(plain.VerifyBuffer<Monster>() ? 'y' : 'n');
    putchar(unaligned.VerifyBuffer<Monster>() ? 'y' : 'n');
    putchar(prefixed.VerifySizePrefixedBuffer<Monster>(nullptr) ? 'y' : 'n');
    putchar(prefixed64.VerifySizePrefixedBuffer<Monster, flatbuffers::uoffset64_t>(nullptr) ? 'y' : 'n');
    putchar('\n');
    free(buf);
  }
  return 0;
}

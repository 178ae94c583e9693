// Reads messages as verify.cpp does, of deep.fbs. The functions are those that flatc generates.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "deep_generated.h"

int main() {
  uint32_t size;
  while (fread(&size, 1, 4, stdin) == 4) {
    uint8_t* buf = static_cast<uint8_t*>(aligned_alloc(64, (size + 64) & ~63u));
    if (fread(buf, 1, size, stdin) != size) return 1;
    flatbuffers::Verifier::Options strict, loose;
    loose.check_alignment = false;
    flatbuffers::Verifier plain(buf, size, strict), unaligned(buf, size, loose), prefixed(buf, size, strict);
    putchar(plain.VerifyBuffer<deep::Deep>() ? 'y' : 'n');
    putchar(unaligned.VerifyBuffer<deep::Deep>() ? 'y' : 'n');
    putchar(deep::VerifySizePrefixedDeepBuffer(prefixed) ? 'y' : 'n');
    putchar('\n');
    free(buf);
  }
  return 0;
}

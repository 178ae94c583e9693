// Reads buffers from standard input, each after its size as a 32-bit
// little-endian number, and answers each with two lines: y or n, whether
// Google's verifier accepts it, and its value as JSON if so.
//
// With the argument parse the input is JSON texts, and each is answered
// by the bytes of a FlexBuffer in hexadecimal.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "flatbuffers/flexbuffers.h"
#include "flatbuffers/idl.h"

int main(int argc, char**) {
  uint32_t size;
  while (fread(&size, 1, 4, stdin) == 4) {
    std::vector<uint8_t> buf(size);
    if (fread(buf.data(), 1, size, stdin) != size) return 1;
    if (argc > 1) {
      flatbuffers::Parser parser;
      flexbuffers::Builder builder;
      std::string text(buf.begin(), buf.end());
      if (!parser.ParseFlexBuffer(text.c_str(), nullptr, &builder)) return 2;
      for (uint8_t b : builder.GetBuffer()) printf("%02x", b);
      putchar('\n');
      continue;
    }
    bool ok = flexbuffers::VerifyBuffer(buf.data(), buf.size());
    puts(ok ? "y" : "n");
    std::string json;
    if (ok) flexbuffers::GetRoot(buf.data(), buf.size()).ToString(true, true, json);
    puts(json.c_str());
  }
  return 0;
}

include "lib/cycle2.thrift"
struct A {}

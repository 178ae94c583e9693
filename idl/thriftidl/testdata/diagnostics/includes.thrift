include "lib/nowhere.thrift"
include "lib/broken.thrift"
include ""
include "lib"
include lib
struct A { 1: broken.B b }

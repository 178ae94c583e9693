include "lib/money.thrift"
include "lib/other/money.thrift"
struct A { 1: money.Amount amount }

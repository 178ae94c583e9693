include "money.thrift"
include "../cycle.thrift"

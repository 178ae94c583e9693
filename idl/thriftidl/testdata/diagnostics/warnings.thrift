php_namespace Demo
xsd_namespace "http://example.com/demo"
namespace go one
namespace go two
include "lib/money.thrift"
include "lib/money.thrift"

const i32 LEADING = 010
const string REGEX = "^\d+$"
const string LONG = "one
two"
const bool TWO = 2
const i32 TRUTH = true

enum Color { RED = 1, CRIMSON = 1, const = 7 }
senum Size { "small", "large" }
struct Old {
  1: slist names
  i32 without_id
  -1: i32 taken_by_the_one_before (gone = "x")
}

namespace java late

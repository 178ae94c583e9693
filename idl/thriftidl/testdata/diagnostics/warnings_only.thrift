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
  0: i32 zero
}

namespace java late

const Color BARE = RED
const Color UNNAMED = 9
const i32 Old = 4
const set<i32> TWICE = [1, 2, 1]
const map<string, i32> KEYS = {"a": 1, "b": 2, "a": 3}

struct Point { 1: required i32 x, 2: i32 y }
const Point ORIGIN = {y: 0}

union Either { 1: required i32 left, 2: string right }
exception Sad { 1: string why }
struct Holder { 1: Sad sad }

@Unknown{a = 1}
struct Noted {}

struct Snake { 1: required Tail tail }
struct Tail { 1: required Snake snake }
union Loop { 1: Loop loop }

service S {
  async void fire(1: optional i32 x)
  void f() throws (1: required Sad sad)
  Sad g()
}

interaction Chat { void say() }
service Talk {
  performs Chat;
  Chat start()
}

// Each mistake is reported once, and the next declaration is read again.
namespace go demo.syntax

struct NoColon {
  1 i32 a
  2: i32 b
}

struct NoName {
  1: i32
  2: list<i32 c
  3: map<string> d
  4: string = "x"
}

enum Bad {
  A = "one"
  B =
  C
}

strct Misspelt {
  1: i32 a
}

const i32 NO_VALUE
const i32 EQUALS == 3
const list<i32> BRACES = {1, 2}

service Shop {
  i32 find(1: i32 id
  void buy 1: i32 id)
  i32 sell(1: i32 id) throws 1: i32 x
  void fine()
}

}

typedef i32

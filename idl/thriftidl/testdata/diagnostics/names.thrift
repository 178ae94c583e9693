include "lib/money.thrift"

struct Item { 1: i32 id }
enum Item { A }
service Item {}
const i32 LIMIT = 1
const i32 LIMIT = 2

struct Order {
  1: Itme item
  2: money.Amuont price
  3: mony.Amount tax
  4: Amount total
  5: int count
  6: LIMIT limit
  7: Shop shop
  8: list many
  9: void nothing
  10: nowhere.Thing thing
}

enum Color { RED, GREEN, RED }

service Shop extends Sohp {
  void buy()
  void buy(1: i32 id)
}
service Child extends Item2 {}
service Grandchild extends Shop {}
service Sub extends Base {
  void ping()
}
service Base {
  void ping()
}
service Odd extends Color {}

const Color C = Color.BLEU
const i32 L = LIMTI
const string S = hello
const bool B = True
const Color D = YELOW
const i32 E = Color.RED.X

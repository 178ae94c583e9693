struct Ids {
  1: i32 a
  1: i32 b
  2: i32 a
  40000: i32 far
  -40000: i32 near
  32767: i32 last
}

enum Range {
  BELOW = -2147483649
  TOP = 2147483647
  OVER
  HEX = 0xFFFFFFFF
}

union Choice {
  1: i32 a = 1
  2: i32 b = 2
}

exception Twice {
  1: string message
  2: string message
}

service S {
  void f(1: i32 a, 1: i32 b)
  oneway i32 lost()
  oneway void thrown() throws (1: Twice t)
  oneway stream<i32> never()
}

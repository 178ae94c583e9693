struct Open {
  1: i32 a
  2: string b

struct Next {
  1: Open o
}

enum Color {
  RED
  GREEN

service S {
  void f()

typedef Second First
typedef Third Second
typedef First Third
typedef list<Self> Self

exception Lost { 1: string what }
struct Found { 1: string what }

service S {
  void f() throws (1: Found found)
  void g() throws (1: Lost a, 1: Lost b)
  i32 h() throws (1: Lost success, 0: Lost zero)
  i32, i32 two()
}

service A extends C {}
service B extends A {}
service C extends B {}
service Me extends Me {}

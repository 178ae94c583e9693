struct R {}
typedef R Alias
union U { 1: i32 n }
exception X {}
service S {
  R server(1: R r) (streaming.mode = "server")
  U thrown(1: Alias r) throws (1: X x) (streaming.mode = "client")
  i32 unary(1: i32 n, 2: i32 m) (streaming.mode = "unary")
  R both(1: R r) (streaming.mode = "both")
  R bare(1: R r) (streaming.mode)
  R twice(1: R r) (streaming.mode = "client", a.b = "c", streaming.mode = "server")
  stream<R> mixed(1: R r) (streaming.mode = "server")
  oneway void oneway_(1: R r) (streaming.mode = "client")
  void nothing(1: R r) (streaming.mode = "server")
  R none() (streaming.mode = "server")
  R two(1: R r, 2: R s) (streaming.mode = "bidirectional")
  R number(1: i32 n) (streaming.mode = "client")
  list<R> listed(1: R r) (streaming.mode = "client")
  Lost lost(1: R r) (streaming.mode = "client")
  R found(1: Lost r) (streaming.mode = "client")
}

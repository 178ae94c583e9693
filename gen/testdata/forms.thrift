// Methods whose handlers have several forms.
namespace go golden.forms

exception Missing {
  1: string title
}

service Base {
  void ping()
}

service Library extends Base {
  i64 stock(1: string title) throws (1: Missing missing)
  list<string> titles(1: i32 limit, 2: i32 offset)
  void lend(1: string title) throws (1: Missing missing)
  oneway void note(1: string text)
}

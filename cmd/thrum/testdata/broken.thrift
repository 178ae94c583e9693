include "shared.thrift"

struct Book {
  1: required i64 id
  1: string title
  2: list<shared.Auther> authors
  3: i8 copies = 300
}

service Shop {
  Book get(1: i64 id) throws (1: Book wrong)
}

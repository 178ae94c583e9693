/*
 * A bookshop: its catalogue, its shelves and its orders. Between them the
 * types use every part of the Thrift IDL that Apache Thrift 0.17 knows;
 * parcels.thrift holds what is younger.
 */
include "common.thrift"

namespace go shop
namespace py bookshop.shop
namespace java bookshop.shop

enum Format {
  HARDBACK = 1
  PAPERBACK = 2
  EBOOK = 3
  AUDIO = 10
}

enum OrderState {
  NEW = 0
  PACKED = 1
  SENT = 2
  CANCELLED = -1
}

/** Where books stand in the shop. */
struct Shelf {
  1: required i16 aisle
  2: required i8 level
} (python.immutable = "")

struct Author {
  1: required string name
  2: optional i16 born
}

/** A subject of the catalogue with the narrower subjects below it. */
struct Subject {
  1: required string name
  2: list<Subject> narrower
  3: optional Subject seeAlso
}

struct Book {
  1: required common.BookID id
  2: required string title
  3: list<Author> authors
  4: Format format = Format.PAPERBACK
  5: common.Money price
  6: optional double rating
  7: set<string> tags
  8: map<string, string> titles       // by language
  9: optional binary thumbnail
  10: bool inPrint = true
  11: optional Shelf shelf
  12: list<string> languages = ["en"]
}

/** How an order reaches its reader. */
union Delivery {
  1: Shelf pickup
  2: Address parcel
  3: string email
}

struct Address {
  1: required list<string> lines
  2: required string country = "DE"
}

struct Line {
  1: required common.BookID book
  2: i32 quantity = 1
  3: optional string note
}

/** An order as a reader writes it. */
struct Draft {
  1: required list<Line> lines
  2: optional Delivery delivery
  3: map<string, i32> vouchers = {"WELCOME": 5}   // code to per cent
}

struct Order {
  1: required i64 id
  2: required string customer
  3: list<Line> lines
  4: optional Delivery delivery
  5: OrderState state = OrderState.NEW
  6: common.Money total = {"currency": common.Currency.EUR, "minor": 0}
  7: map<OrderState, i64> history     // when each state began, in seconds since 1970
}

/** Which books to list; every part narrows the result. */
struct Search {
  1: optional string text (api.query = "q")
  2: optional set<string> tags (api.query = "tag")
  3: optional list<Format> formats (api.query = "format")
  4: optional double minRating (api.query = "min_rating")
  5: i32 page = 1 (api.query = "page")
  6: i32 size = common.PAGE_SIZE (api.query = "size", api.header = "X-Page-Size")
}

/** There are fewer copies than were ordered. */
exception OutOfStock {
  1: required common.BookID book
  2: required i32 left
} (api.http_code = "409")

/** The order has gone too far to be changed. */
exception TooLate {
  1: required OrderState state
  2: string message
}

/** What a drill lets happen. */
enum Failure {
  NONE = 0
  NOT_FOUND = 1
  OUT_OF_STOCK = 2
  UNDECLARED = 3
  PANIC = 4
}

const Shelf FRONT_TABLE = {"aisle": 0, "level": 1}

/** A value of every type, which echo returns as it came. */
struct Everything {
  1: bool flag
  2: i8 tiny
  3: i16 small
  4: i32 medium
  5: i64 large
  6: double ratio
  7: string text
  8: binary data
  9: Format format = Format.EBOOK
  10: list<i32> numbers
  11: set<string> words
  12: map<string, double> byText
  13: map<i64, string> byNumber
  14: map<Format, list<Author>> byEnum
  15: map<Shelf, set<i16>> byStruct
  16: Author author
  17: optional Subject subject
  18: optional Delivery delivery
  19: list<map<string, list<bool>>> nested
  20: optional i32 maybe
  21: optional string label = "none"
  22: required i32 must = 7
  23: list<string> listed = ["a", "b"]
  24: map<string, i32> counted = {"one": 1}
  25: Shelf shelf = {"aisle": 0, "level": 1}
  26: list<binary> blobs
  27: set<Shelf> shelves
  28: map<bool, i8> byBool
}

service Shop extends common.Base {
  /** One book, with its price in the wanted currency. */
  Book getBook(
    1: common.BookID id (api.path = "id"),
    2: common.Currency currency = common.Currency.EUR (api.query = "currency", api.header = "X-Currency")
  ) throws (1: common.NotFound missing) (api.get = "/v1/books/:id")

  /** The books that fit a search, in the order of their numbers. */
  list<Book> search(1: Search search) (api.get = "/v1/books")

  /** The picture on the cover. */
  binary cover(1: common.BookID id (api.path = "id")) throws (1: common.NotFound missing) (api.get = "/v1/books/:id/cover")

  /** Counts a look at a book. */
  oneway void viewed(1: common.BookID id (api.path = "id"), 2: string by (api.cookie = "reader")) (api.post = "/v1/books/:id/views")

  /** The tree of subjects. */
  Subject subjects() (api.get = "/v1/subjects")

  /** What stands where. */
  map<Shelf, list<common.BookID>> shelves() (api.get = "/v1/shelves")

  /** How many copies there are of each book. */
  map<common.BookID, i32> stock(1: list<common.BookID> ids (api.query = "ids")) (api.get = "/v1/stock")

  /** Orders books. */
  Order placeOrder(
    1: string customer (api.header = "X-Customer"),
    2: required Draft draft (api.body = "")
  ) throws (1: common.NotFound missing, 2: OutOfStock stock) (api.post = "/v1/orders", api.http_code = "201")

  Order getOrder(1: i64 id (api.path = "id")) throws (1: common.NotFound missing) (api.get = "/v1/orders/:id")

  /** Changes where an order goes. */
  Order redirect(
    1: i64 id (api.path = "id"),
    2: Delivery delivery (api.body = "")
  ) throws (1: common.NotFound missing, 2: TooLate late) (api.put = "/v1/orders/:id/delivery")

  /** Cancels an order. */
  void cancelOrder(
    1: i64 id (api.path = "id"),
    2: string reason (api.query = "reason")
  ) throws (1: common.NotFound missing, 2: TooLate late) (api.delete = "/v1/orders/:id")

  /** Returns what it is given. */
  Everything echo(1: Everything value) (api.post = "/v1/echo")

  /** Writes its arguments on one line. */
  string describe(
    1: bool flag,
    2: i8 tiny,
    3: i16 small,
    4: i32 medium,
    5: i64 large,
    6: double ratio,
    7: string text,
    8: binary data,
    9: Format format,
    10: list<string> words,
    11: map<string, i32> counts
  )

  /** Fails in the wanted way, so that clients can practise; returns the number of drills otherwise. */
  i32 drill(1: Failure how (api.query = "how")) throws (1: common.NotFound missing, 2: OutOfStock stock) (api.post = "/v1/drill")
}

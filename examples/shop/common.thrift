/*
 * What every service of the bookshop shares: money, the exception for
 * things that do not exist, and a base service.
 */
namespace go shop.common
namespace py bookshop.common
namespace java bookshop.common

/** The number under which the shop knows a book. */
typedef i64 BookID

/** The longest page that a listing returns. */
const i32 MAX_PAGE_SIZE = 50

/** The length of a page unless another is asked for. */
const i32 PAGE_SIZE = 20

/** ISO 4217 codes of the currencies that the shop takes. */
enum Currency {
  EUR = 978
  GBP = 826
  USD = 840
}

/** An amount of money in the smallest unit of its currency. */
struct Money {
  1: required Currency currency = Currency.EUR
  2: required i64 minor
}

/** Something was asked for that does not exist. */
exception NotFound {
  1: required string kind
  2: required string key
  3: optional string message
} (api.http_code = "404")

/** What every service of the shop answers. */
service Base {
  /** The name and release of the service. */
  string version() (api.get = "/v1/version")

  /** Returns nothing, which shows that the service is up. */
  void ping() (api.get = "/v1/ping")

  /** Leaves a line in the log; nobody waits for it. */
  oneway void note(1: string line) (api.post = "/v1/notes")
}

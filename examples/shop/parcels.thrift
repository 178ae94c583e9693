/*
 * Parcels on their way to readers. It stands apart from shop.thrift because
 * uuid needs Apache Thrift 0.19 and float is fbthrift's.
 */
include "common.thrift"
include "shop.thrift"

namespace go shop.parcels

struct Parcel {
  1: required uuid id
  2: required i64 order
  3: float weight                     // in kilograms
  4: shop.Address to
  5: map<uuid, float> contents        // the labels inside, with their weights
  6: list<Scan> scans
}

/** One place that a parcel passed. */
struct Scan {
  1: required string place
  2: required i64 at                  // in seconds since 1970
}

service Parcels {
  /** Where a parcel is. */
  Parcel track(1: uuid id (api.path = "id")) throws (1: common.NotFound missing) (api.get = "/v1/parcels/:id")

  /** Returns what it is given. */
  Parcel echoParcel(1: Parcel parcel)
}

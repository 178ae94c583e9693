package store

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/common"
	"github.com/thrum-rpc/thrum/examples/shop/parcels"
)

// This file holds the parcels.

// Parcels knows where the shop's parcels are. It is safe for concurrent use.
type Parcels struct{}

var _ parcels.Parcels = Parcels{}

// parcelID is the only parcel on its way:
// 6ba7b810-9dad-11d1-80b4-00c04fd430c8.
var parcelID = [16]byte{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}

func (Parcels) Track(_ context.Context, id [16]byte) (*parcels.Parcel, error) {
	if id != parcelID {
		return nil, &common.NotFound{Kind: "parcel", Key: hex.EncodeToString(id[:])}
	}
	label := parcelID
	label[15]++
	return &parcels.Parcel{
		Id: id, Order: 1, Weight: 0.75,
		To:       &shop.Address{Lines: []string{"Ada Lovelace", "12 St James's Square"}, Country: "GB"},
		Contents: map[[16]byte]float32{label: 0.7},
		Scans:    []*parcels.Scan{{Place: "Berlin", At: 1767232800}, {Place: "Dover", At: 1767319200}},
	}, nil
}

func (Parcels) EchoParcel(_ context.Context, parcel *parcels.Parcel) (*parcels.Parcel, error) {
	if parcel == nil {
		return nil, errors.New("echoParcel: the parcel is missing")
	}
	return parcel, nil
}

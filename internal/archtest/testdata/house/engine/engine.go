package engine

import (
	"reflect"

	"example.com/house/codec"
)

// Run imports upwards.
func Run() { codec.New(); reflect.TypeOf(0) }

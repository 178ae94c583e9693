package jsonwire_test

import (
	"math"
	"testing"

	"github.com/thrum-rpc/thrum/wire/jsonwire"
)

// This file measures the kernels on the parts of a small message.

func BenchmarkKernels(b *testing.B) {
	text := []byte("word word word word word word word")
	quoted := []byte(`"word word word word word word word", and more of it behind`)
	encoded := []byte(`"d29yZCB3b3JkIHdvcmQgd29yZCB3b3JkIHdvcmQgd28=","and more of it behind`)
	long := []byte(`9223372036854775807,"and more of it behind"`)
	short := []byte(`127,"and more of it behind"`)
	float := []byte(`1.7976931348623157e+308,"and more of it behind"`)
	simple := []byte(`0.5,"and more of it behind"`)
	buf := make([]byte, 0, 256)
	for name, run := range map[string]func(){
		"int/19":       func() { jsonwire.ConsumeInt(long, 64) },
		"int/3":        func() { jsonwire.ConsumeInt(short, 8) },
		"float/17":     func() { jsonwire.ConsumeFloat(float, 64) },
		"float/1":      func() { jsonwire.ConsumeFloat(simple, 64) },
		"unquote/34":   func() { jsonwire.AppendUnquoted(buf, quoted) },
		"skip/44":      func() { jsonwire.SkipString(encoded) },
		"unbase64/44":  func() { jsonwire.AppendUnbase64(buf, encoded[1:45], false) },
		"consume64/44": func() { jsonwire.ConsumeBase64At(buf, encoded, 0, false) },
		"base64/32":    func() { jsonwire.AppendBase64(buf, text[:32]) },
		"quote/34":     func() { jsonwire.AppendQuoted(buf, text) },
		"putint/19":    func() { jsonwire.AppendInt(buf, math.MaxInt64) },
		"putint/10":    func() { jsonwire.AppendInt(buf, math.MaxInt32) },
		"putint/2":     func() { jsonwire.AppendInt(buf, 15) },
		"putfloat/17":  func() { jsonwire.AppendFloat(buf, math.MaxFloat64, 64) },
		"putfloat/1":   func() { jsonwire.AppendFloat(buf, 0.5, 64) },
		"putfloat/pi":  func() { jsonwire.AppendFloat(buf, math.Pi, 64) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run()
			}
		})
	}
}

// Package shop is the output of the kitex tool for the bookshop's IDL: structs with frugal tags and FastCodec. It
// must not be edited.
package shop

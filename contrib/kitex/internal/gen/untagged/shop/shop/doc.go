// Package shop is the output of the kitex tool for the bookshop's IDL: slim structs with thrift tags only. It
// must not be edited.
package shop

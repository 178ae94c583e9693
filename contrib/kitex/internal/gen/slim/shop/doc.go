// Package shop is the output of the kitex tool for the bookshop's IDL: slim structs with frugal tags. It
// must not be edited.
package shop

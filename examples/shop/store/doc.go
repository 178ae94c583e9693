// Package store answers the calls of the bookshop from memory. The same calls
// in the same order always get the same answers: it reads no clock, and numbers
// are given out one after another.
package store

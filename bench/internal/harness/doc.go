// Package harness times contestants against each other fairly and prints the
// result in the form that the project's targets are stated in.
//
// A Suite is a list of groups. A Group is one piece of work on one value, done
// by several contestants: ours in its variants, and the peers. The group first
// checks that all of them did the same work; then rounds run every contestant
// for a slice of time, in an order that rotates from round to round, so that
// what disturbs the machine disturbs all alike. Medians over the rounds are
// reported, with the garbage collector on.
//
// The package knows no codec, no wire format and no peer.
package harness

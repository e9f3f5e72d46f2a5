// Package arch holds the architecture: which package may import which, as a
// test.
package arch

package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// A message is a message of the NATS protocol, in either direction.
type message struct {
	bytes   []byte // with the line ends
	subject string // of one that carries a payload; empty for others
}

// read reads the next message.
//
// https://docs.nats.io/reference/reference-protocols/nats-protocol
func read(in *bufio.Reader) (message, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return message{}, err
	}
	words := bytes.Fields(line)
	if len(words) < 3 || !carries(words[0]) {
		return message{bytes: line}, nil
	}
	size, err := strconv.Atoi(string(words[len(words)-1])) // of headers and body together
	if err != nil || size < 0 {
		return message{}, fmt.Errorf("no size in %q", line)
	}
	m := message{bytes: append(line, make([]byte, size+len("\r\n"))...), subject: string(words[1])}
	_, err = io.ReadFull(in, m.bytes[len(line):])
	return m, err
}

// carries tells whether a payload follows.
func carries(operation []byte) bool {
	switch string(bytes.ToUpper(operation)) {
	case "PUB", "HPUB", "MSG", "HMSG":
		return true
	}
	return false
}

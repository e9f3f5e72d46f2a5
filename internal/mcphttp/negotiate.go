package mcphttp

import (
	"mime"
	"strconv"
	"strings"
)

const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
)

// isJSON tells whether a body of this Content-Type is JSON in UTF-8. One
// without a Content-Type is taken to be.
func isJSON(contentType []string) bool {
	switch {
	case len(contentType) == 0 || len(contentType) == 1 && contentType[0] == typeJSON:
		return true
	case len(contentType) > 1:
		return false
	}
	media, params, err := mime.ParseMediaType(contentType[0])
	if err != nil {
		return false
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return false
	}
	return media == typeJSON || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
}

// accepted tells which of the two forms of a response a client takes.
type accepted struct{ json, events bool }

// parseAccept reads the lines of an Accept header; none means that the client
// takes everything.
//
// Spec: RFC 9110, 12.5.1 Accept.
func parseAccept(lines []string) accepted {
	json, events := match{media: typeJSON}, match{media: typeEvents}
	listed := false
	for _, line := range lines {
		for item := range strings.SplitSeq(line, ",") {
			media, params, _ := strings.Cut(item, ";")
			if media = strings.TrimSpace(media); media != "" {
				listed = true
				json.consider(media, params)
				events.consider(media, params)
			}
		}
	}
	return accepted{json: json.accepted || !listed, events: events.accepted || !listed}
}

// A match is the most specific media range so far that has media in it.
type match struct {
	media     string
	precision int
	accepted  bool
}

func (m *match) consider(mediaRange, params string) {
	if p := precision(mediaRange, m.media); p > m.precision {
		m.precision, m.accepted = p, isWanted(params)
	}
}

// precision ranks how closely mediaRange describes media; 0 is not at all.
func precision(mediaRange, media string) int {
	if strings.EqualFold(mediaRange, media) {
		return 3
	}
	kind, ok := strings.CutSuffix(mediaRange, "/*")
	switch {
	case !ok:
		return 0
	case kind == "*":
		return 1
	case len(kind) < len(media) && media[len(kind)] == '/' && strings.EqualFold(kind, media[:len(kind)]):
		return 2
	}
	return 0
}

// isWanted tells whether the parameters of a media range leave its quality
// above 0. One that is no number counts as absent.
func isWanted(params string) bool {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err != nil || q > 0
		}
	}
	return true
}

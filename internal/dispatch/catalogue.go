package dispatch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A catalogue is all that a dispatcher serves, checked and in the order of the
// lists, whatever the order of registration.
type catalogue struct {
	server       mcp.Implementation
	instructions string
	pageSize     int
	logs         bool
	cache        caching

	tools     []*tool              // by name
	prompts   []*prompt            // by name
	templates []*template          // by URI template
	sources   []mcp.ResourceSource // by name of their toolset
}

func newCatalogue(cfg Config) (*catalogue, error) {
	toolsets := slices.Clone(cfg.Toolsets)
	slices.SortStableFunc(toolsets, func(a, b mcp.Toolset) int { return cmp.Compare(a.Name, b.Name) })
	c := &catalogue{
		server:       cfg.Server,
		instructions: instructions(cfg.Instructions, toolsets),
		pageSize:     cmp.Or(cfg.PageSize, DefaultPageSize),
		cache:        newCaching(cfg.Cache, toolsets),
		logs:         slices.ContainsFunc(toolsets, func(set mcp.Toolset) bool { return set.Logs }),
	}
	var problems []error
	if err := checkIcons(cfg.Server.Icons); err != nil {
		problems = append(problems, fmt.Errorf("server: %w", err))
	}
	if cfg.PageSize < 0 {
		problems = append(problems, fmt.Errorf("page size %d is negative", cfg.PageSize))
	}
	for _, set := range toolsets {
		problems = append(problems, c.add(set))
	}
	problems = append(problems,
		sortByKey("tool", c.tools),
		sortByKey("prompt", c.prompts),
		sortByKey("resource template", c.templates))
	return c, errors.Join(problems...)
}

// add takes what is in set, without what is wrong, and reports the latter.
func (c *catalogue) add(set mcp.Toolset) error {
	var problems [3]error
	c.tools, problems[0] = appendMade(c.tools, newTool, set.Tools)
	c.prompts, problems[1] = appendMade(c.prompts, newPrompt, set.Prompts)
	if set.Resources != nil {
		c.sources = append(c.sources, set.Resources)
		c.templates, problems[2] = appendMade(c.templates, newTemplate, set.Resources.Templates())
	}
	return errors.Join(problems[:]...)
}

// appendMade appends what can be made of each definition, and reports the rest.
func appendMade[D, T any](made []T, newT func(D) (T, error), definitions []D) ([]T, error) {
	var problems []error
	for _, definition := range definitions {
		t, err := newT(definition)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		made = append(made, t)
	}
	return made, errors.Join(problems...)
}

// instructions joins those of the server and of its toolsets to paragraphs.
func instructions(own string, of []mcp.Toolset) string {
	parts := []string{own}
	for _, set := range of {
		parts = append(parts, set.Instructions)
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return strings.Join(parts, "\n\n")
}

// sortByKey sorts items, and reports keys that are empty or occur twice: a list
// could not be paged over them.
func sortByKey[T listed](kind string, items []T) error {
	slices.SortFunc(items, func(a, b T) int { return cmp.Compare(a.key(), b.key()) })
	var problems []error
	for i, item := range items {
		switch key := item.key(); {
		case key == "":
			problems = append(problems, fmt.Errorf("a %s has no name", kind))
		case i > 0 && key == items[i-1].key():
			problems = append(problems, fmt.Errorf("%s %q is registered twice", kind, key))
		}
	}
	return errors.Join(problems...)
}

package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestParseSubscriptionFilter(t *testing.T) {
	tests := []struct {
		raw  string
		want mcp.SubscriptionFilter
	}{
		{`{}`, mcp.SubscriptionFilter{}},
		{`{"toolsListChanged":true}`, mcp.SubscriptionFilter{ToolsListChanged: true}},
		{`{"promptsListChanged":true,"toolsListChanged":false}`, mcp.SubscriptionFilter{PromptsListChanged: true}},
		{`{"resourcesListChanged":true,"promptsListChanged":null}`, mcp.SubscriptionFilter{ResourcesListChanged: true}},
		{`{"resourceSubscriptions":["b:1","a:1","b:1","\u0061:1"]}`, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"a:1", "b:1"}}},
		{`{"resourceSubscriptions":[],"moonChanged":7}`, mcp.SubscriptionFilter{ResourceSubscriptions: []string{}}},
		{`{"ToolsListChanged":true}`, mcp.SubscriptionFilter{}},
	}
	for _, tt := range tests {
		t.Run(tt.raw, func(t *testing.T) {
			filter, err := mcp.ParseSubscriptionFilter(jsontext.Value(tt.raw))
			require.Nil(t, err)
			assert.Equal(t, tt.want, filter)
		})
	}
}

func TestParseSubscriptionFilterRefuses(t *testing.T) {
	uris := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`"a:%d"`, i)
		}
		return `{"resourceSubscriptions":[` + strings.Join(list, ",") + `]}`
	}
	for _, raw := range []string{
		``, `null`, `[]`, `"toolsListChanged"`, `true`,
		`{"toolsListChanged":1}`, `{"promptsListChanged":"true"}`, `{"resourcesListChanged":{}}`,
		`{"resourceSubscriptions":"a:1"}`, `{"resourceSubscriptions":{"a:1":true}}`, `{"resourceSubscriptions":true}`,
		`{"taskIds":"t"}`, `{"taskIds":[7]}`, `{"taskIds":[""]}`,
		`{"resourceSubscriptions":["a:1",2]}`, `{"resourceSubscriptions":[null]}`, `{"resourceSubscriptions":[""]}`,
		uris(mcp.MaxResourceSubscriptions + 1),
	} {
		_, err := mcp.ParseSubscriptionFilter(jsontext.Value(raw))
		require.NotNil(t, err, raw)
		assert.Equal(t, jsonrpc.CodeInvalidParams, err.Code, raw)
	}
	filter, err := mcp.ParseSubscriptionFilter(jsontext.Value(uris(mcp.MaxResourceSubscriptions)))
	require.Nil(t, err)
	assert.Len(t, filter.ResourceSubscriptions, mcp.MaxResourceSubscriptions)
}

func TestHonoured(t *testing.T) {
	all := mcp.SubscriptionFilter{
		ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, ResourceSubscriptions: []string{"a:1"},
		TaskIDs: []string{"t"},
	}
	tasks := map[string]struct{}{mcp.ExtensionTasks: {}}
	list := &mcp.ListCapability{ListChanged: true}
	tests := []struct {
		name string
		has  mcp.ServerCapabilities
		want mcp.SubscriptionFilter
	}{
		{"nothing", mcp.ServerCapabilities{}, mcp.SubscriptionFilter{}},
		{"features without events", mcp.ServerCapabilities{
			Tools: &mcp.ListCapability{}, Prompts: &mcp.ListCapability{}, Resources: &mcp.ResourcesCapability{},
		}, mcp.SubscriptionFilter{}},
		{"tools", mcp.ServerCapabilities{Tools: list}, mcp.SubscriptionFilter{ToolsListChanged: true}},
		{"prompts", mcp.ServerCapabilities{Prompts: list}, mcp.SubscriptionFilter{PromptsListChanged: true}},
		{"the list of resources", mcp.ServerCapabilities{Resources: &mcp.ResourcesCapability{ListChanged: true}},
			mcp.SubscriptionFilter{ResourcesListChanged: true}},
		{"resources", mcp.ServerCapabilities{Resources: &mcp.ResourcesCapability{Subscribe: true}},
			mcp.SubscriptionFilter{ResourceSubscriptions: []string{"a:1"}}},
		{"tasks", mcp.ServerCapabilities{Extensions: tasks}, mcp.SubscriptionFilter{TaskIDs: []string{"t"}}},
		{"all", mcp.ServerCapabilities{
			Tools: list, Prompts: list, Resources: &mcp.ResourcesCapability{Subscribe: true, ListChanged: true}, Extensions: tasks,
		}, all},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, all.Honoured(tt.has))
			assert.Equal(t, mcp.SubscriptionFilter{}, mcp.SubscriptionFilter{}.Honoured(tt.has), "nothing that was not asked for")
		})
	}
}

func TestFilterEvents(t *testing.T) {
	assert.Empty(t, mcp.SubscriptionFilter{}.Events())
	assert.Equal(t, []mcp.Event{
		mcp.ToolsListChanged(), mcp.PromptsListChanged(), mcp.ResourcesListChanged(), mcp.ResourceUpdated("a:1"), mcp.ResourceUpdated("b:1"),
		mcp.TaskChanged("t"),
	}, mcp.SubscriptionFilter{
		ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, ResourceSubscriptions: []string{"a:1", "b:1"},
		TaskIDs: []string{"t"},
	}.Events())
}

func TestParseListenResult(t *testing.T) {
	honoured, server, ok := mcp.ParseListenResult([]byte(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",` +
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}},"notifications":{"toolsListChanged":true}}}`))
	require.True(t, ok)
	assert.Equal(t, mcp.SubscriptionFilter{ToolsListChanged: true}, honoured)
	assert.Equal(t, `{"name":"s","version":"1"}`, string(server))

	_, server, ok = mcp.ParseListenResult([]byte(`{"result":{"notifications":{}}}`))
	assert.True(t, ok)
	assert.Nil(t, server)
	for _, response := range []string{``, `{}`, `{"error":{"code":1}}`, `{"result":{}}`, `{"result":{"notifications":[]}}`} {
		_, _, ok = mcp.ParseListenResult([]byte(response))
		assert.False(t, ok, response)
	}
}

// The id is that of the request, in value and type.
func TestSubscriptionMessages(t *testing.T) {
	const tag = `"_meta":{"io.modelcontextprotocol/subscriptionId":`
	for _, id := range []jsonrpc.ID{`1`, `"1"`, `0`, `-9007199254740993`, `"a\"\u00e9"`} {
		tests := []struct{ got, want string }{
			{string(mcp.ToolsListChanged().ForSubscriptions().For(id)),
				`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{` + tag + string(id) + `}}}`},
			{string(mcp.PromptsListChanged().ForSubscriptions().For(id)),
				`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{` + tag + string(id) + `}}}`},
			{string(mcp.ResourcesListChanged().ForSubscriptions().For(id)),
				`{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{` + tag + string(id) + `}}}`},
			{string(mcp.ResourceUpdated(`a:"1"`).ForSubscriptions().For(id)),
				`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{` + tag + string(id) + `},"uri":"a:\"1\""}}`},
			{string(mcp.SubscriptionAcknowledged(mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"a:1"}}).For(id)),
				`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + tag + string(id) +
					`},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:1"]}}}`},
			{string(mcp.SubscriptionAcknowledged(mcp.SubscriptionFilter{}).For(id)),
				`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + tag + string(id) + `},"notifications":{}}}`},
			{string(mcp.SubscriptionCancelled(id)),
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{` + tag + string(id) + `},"requestId":` + string(id) + `}}`},
			{string(mcp.SubscriptionEnded(id, nil).Body),
				`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"resultType":"complete",` + tag + string(id) + `}}}`},
			{string(mcp.SubscriptionEnded(id, jsontext.Value(`{"name":"s","version":"1"}`)).Body),
				`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"resultType":"complete",` + tag + string(id) +
					`,"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}}`},
		}
		for _, tt := range tests {
			assert.Equal(t, tt.want, tt.got)
			assert.True(t, jsontext.Value(tt.got).IsValid(), tt.got)
		}
	}
}

func TestParseEvent(t *testing.T) {
	for _, e := range []mcp.Event{
		mcp.ToolsListChanged(), mcp.PromptsListChanged(), mcp.ResourcesListChanged(), mcp.ResourceUpdated(`a:"1"`), mcp.TaskChanged("t"),
	} {
		got, ok := mcp.ParseEvent(e.Notification())
		assert.True(t, ok)
		assert.Equal(t, e, got)
	}
	for _, notification := range []string{
		``, `{}`, `[]`, `null`,
		`{"jsonrpc":"2.0","method":"notifications/moon/list_changed"}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"uri":"a:1"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"notifications/tools/list_changed"}`,
		`{"jsonrpc":"1.0","method":"notifications/tools/list_changed"}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}{}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated"}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":7}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":""}}`,
		`{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":""}}`,
	} {
		_, ok := mcp.ParseEvent([]byte(notification))
		assert.False(t, ok, notification)
	}
}

func TestPublish(t *testing.T) {
	var published []mcp.Event
	call, refusal := mcp.NewCall(&mcp.Request{}, mcp.CallConfig{Events: func(e mcp.Event) { published = append(published, e) }})
	require.Nil(t, refusal)
	call.Publish(mcp.ResourceUpdated("a:1"))
	assert.Equal(t, []mcp.Event{mcp.ResourceUpdated("a:1")}, published)
	assert.NotPanics(t, func() { new(mcp.Call).Publish(mcp.ToolsListChanged()) })
}

// Whatever is read as an event is written so that it reads as the same one.
func FuzzParseEvent(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:\u0031"}}`))
	f.Fuzz(func(t *testing.T, notification []byte) {
		e, ok := mcp.ParseEvent(notification)
		if !ok {
			return
		}
		again, ok := mcp.ParseEvent(e.Notification())
		require.True(t, ok)
		require.Equal(t, e, again)
		require.True(t, jsontext.Value(e.ForSubscriptions().For("1")).IsValid())
	})
}

// Whatever is honoured of a filter is within the filter, and survives its way
// from the worker to the ingress.
func FuzzParseSubscriptionFilter(f *testing.F) {
	f.Add([]byte(`{"toolsListChanged":true,"resourceSubscriptions":["a:1","a:1"]}`))
	f.Add([]byte(`{"resourceSubscriptions":[1]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		filter, err := mcp.ParseSubscriptionFilter(raw)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(filter.Events()), 3+mcp.MaxResourceSubscriptions)
		result, encodeErr := jsonrpc.Marshal(mcp.ListenResult{Notifications: filter})
		require.NoError(t, encodeErr)
		again, _, ok := mcp.ParseListenResult(mcp.ResultResponse("1", result).Body)
		require.True(t, ok)
		require.Equal(t, filter.Events(), again.Events())
	})
}

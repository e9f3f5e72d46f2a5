package main

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A codec decodes an example and encodes it again.
type codec func(example []byte) (encoded []byte, err error)

// A kind is what one folder has examples of.
type kind struct {
	codec
	request string // makes a whole request of an example; empty for what is none
}

// apart has the examples of kinds that we handle which we do not, and why.
var apart = map[string]string{
	"ClientCapabilities/extensions-ui-mime-types.json":                      "the server has no extensions",
	"ClientCapabilities/sampling-context-inclusion-support-deprecated.json": "the server never asks for such context",
	"CreateMessageRequestParams/follow-up-with-tool-results.json":           "the server sends messages of one block",
	"ListRootsRequest/list-roots-request.json":                              "it has an id, which the schema does not know",
	"SamplingMessage/multiple-content-blocks.json":                          "the server sends messages of one block",
}

// kinds returns the kinds by folder. They are those that the server reads or
// sends.
func kinds() map[string]kind {
	const input, field = `{"inputRequests":{"x":%s}}`, `{"requestedSchema":{"properties":{"x":%s}}}`
	const capabilities = `{"_meta":{"io.modelcontextprotocol/clientCapabilities":%s}}`
	inputParams := func(method string) string {
		return fmt.Sprintf(input, fmt.Sprintf(`{"method":%q,"params":%%s}`, method))
	}
	formParams := inputParams(mcp.MethodElicit)
	all := map[string]kind{
		"CallToolRequestParams":       requestParams(mcp.MethodToolsCall),
		"CompleteRequestParams":       requestParams(mcp.MethodComplete),
		"GetPromptRequestParams":      requestParams(mcp.MethodPromptsGet),
		"PaginatedRequestParams":      requestParams(mcp.MethodToolsList),
		"CancelledNotificationParams": {codec: within(message("", mcp.NotificationCancelled), request, "params")},
		"ClientCapabilities": {codec: within(fmt.Sprintf(message(`"id":1,`, mcp.MethodDiscover), capabilities), request,
			"params", "_meta", "io.modelcontextprotocol/clientCapabilities")},

		"CallToolResult":  {codec: as[result[mcp.ToolResult]]},
		"CompleteResult":  {codec: as[result[mcp.CompleteResult]]},
		"DiscoverResult":  {codec: as[result[mcp.DiscoverResult]]},
		"GetPromptResult": {codec: as[result[mcp.PromptResult]]},
		"ListPromptsResult": {codec: as[result[struct {
			Prompts []mcp.Prompt `json:"prompts"`
		}]]},
		"ListResourcesResult": {codec: as[result[struct {
			Resources []mcp.Resource `json:"resources"`
		}]]},
		"ListResourceTemplatesResult": {codec: as[result[struct {
			ResourceTemplates []mcp.ResourceTemplate `json:"resourceTemplates"`
		}]]},
		"ListToolsResult": {codec: as[result[struct {
			Tools []mcp.Tool `json:"tools"`
		}]]},
		"ReadResourceResult":        {codec: as[result[mcp.ReadResult]]},
		"SubscriptionsListenResult": {codec: within(`{"jsonrpc":"2.0","id":"listen-1","result":%s}`, subscriptionEnded, "result")},

		"ProgressNotificationParams":        {codec: within(message("", mcp.NotificationProgress), progress, "params")},
		"LoggingMessageNotificationParams":  {codec: within(message("", mcp.NotificationMessage), logMessage, "params")},
		"ResourceUpdatedNotificationParams": {codec: within(message("", mcp.NotificationResourceUpdated), event, "params")},

		"CreateMessageResult":        {codec: answer(mcp.InputResponses.Sampled)},
		"ElicitResult":               {codec: answer(mcp.InputResponses.Elicited)},
		"ListRootsResult":            {codec: roots},
		"InputResponses":             {codec: as[mcp.InputResponses]},
		"InputRequiredResult":        {codec: inputRequired},
		"InputRequests":              {codec: within(`{"inputRequests":%s}`, inputRequired, "inputRequests")},
		"ElicitRequestFormParams":    {codec: within(formParams, inputRequired, "inputRequests", "x", "params")},
		"ElicitRequestURLParams":     {codec: within(formParams, inputRequired, "inputRequests", "x", "params")},
		"CreateMessageRequestParams": {codec: within(inputParams(mcp.MethodCreateMessage), inputRequired, "inputRequests", "x", "params")},

		"ModelPreferences":   {codec: as[mcp.ModelPreferences]},
		"Resource":           {codec: as[mcp.Resource]},
		"Root":               {codec: as[mcp.Root]},
		"SamplingMessage":    {codec: as[mcp.Message]},
		"ServerCapabilities": {codec: as[mcp.ServerCapabilities]},
		"Tool":               {codec: as[mcp.Tool]},
	}
	for _, name := range []string{"CallTool", "Complete", "Discover", "GetPrompt", "ListPrompts", "ListResources", "ListResourceTemplates", "ListTools", "ReadResource", "SubscriptionsListen"} {
		all[name+"Request"] = kind{request, "%s"}
		all[name+"ResultResponse"] = kind{codec: response(all[name+"Result"].codec)}
	}
	alike(all, request, "CancelledNotification")
	alike(all, progress, "ProgressNotification")
	alike(all, logMessage, "LoggingMessageNotification")
	alike(all, event, "PromptListChangedNotification", "ResourceListChangedNotification", "ResourceUpdatedNotification", "ToolListChangedNotification")
	alike(all, acknowledged, "SubscriptionsAcknowledgedNotification")
	alike(all, subscriptionEnded, "SubscriptionsListenResultResponse")
	alike(all, as[mcp.Content], "AudioContent", "EmbeddedResource", "ImageContent", "ResourceLink", "TextContent")
	alike(all, as[mcp.ResourceContents], "BlobResourceContents", "TextResourceContents")
	alike(all, as[jsonrpc.Error], "InternalError", "InvalidParamsError", "MethodNotFoundError", "ParseError")
	alike(all, failure, "HeaderMismatchError", "MissingRequiredClientCapabilityError", "UnsupportedProtocolVersionError")
	alike(all, within(input, inputRequired, "inputRequests", "x"), "CreateMessageRequest", "ElicitRequest", "ListRootsRequest")
	alike(all, within(fmt.Sprintf(formParams, field), inputRequired, "inputRequests", "x", "params", "requestedSchema", "properties", "x"),
		"BooleanSchema", "NumberSchema", "StringSchema", "TitledMultiSelectEnumSchema", "TitledSingleSelectEnumSchema",
		"UntitledMultiSelectEnumSchema", "UntitledSingleSelectEnumSchema")
	return all
}

func alike(all map[string]kind, c codec, folders ...string) {
	for _, folder := range folders {
		all[folder] = kind{codec: c}
	}
}

// message is a message that lacks its params.
func message(id, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0",%s"method":%q,"params":%%s}`, id, method)
}

func requestParams(method string) kind {
	whole := message(`"id":1,`, method)
	return kind{within(whole, request, "params"), whole}
}

// within puts examples into a whole for c, and takes from there what became of
// them.
func within(whole string, c codec, path ...string) codec {
	return func(example []byte) ([]byte, error) {
		encoded, err := c(fmt.Appendf(nil, whole, example))
		for _, name := range path {
			if err != nil {
				break
			}
			var members map[string]jsontext.Value
			err = json.Unmarshal(encoded, &members)
			encoded = members[name]
		}
		return encoded, err
	}
}

// decode decodes what must have no members but those of v.
func decode(text []byte, v any) error {
	return json.Unmarshal(text, v, json.RejectUnknownMembers(true))
}

// as is the codec of what is no more than a T.
func as[T any](example []byte) ([]byte, error) {
	var v T
	if err := decode(example, &v); err != nil {
		return nil, err
	}
	return jsonrpc.Marshal(v)
}

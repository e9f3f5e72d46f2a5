package mcp

import "github.com/mcpyard/mcpyard/internal/jsonrpc"

// Version is the protocol revision that this package implements.
const Version = "2026-07-28"

// SupportedVersions returns the protocol versions served, newest first.
func SupportedVersions() []string { return []string{Version} }

// Methods of requests.
const (
	MethodDiscover              = "server/discover"
	MethodToolsList             = "tools/list"
	MethodToolsCall             = "tools/call"
	MethodResourcesList         = "resources/list"
	MethodResourcesRead         = "resources/read"
	MethodResourceTemplatesList = "resources/templates/list"
	MethodPromptsList           = "prompts/list"
	MethodPromptsGet            = "prompts/get"
	MethodComplete              = "completion/complete"
	MethodListen                = "subscriptions/listen"
	MethodTasksGet              = "tasks/get"
	MethodTasksUpdate           = "tasks/update"
	MethodTasksCancel           = "tasks/cancel"
)

// MethodInitialize opened a session in revisions up to 2025-11-25.
const MethodInitialize = "initialize"

// Methods of notifications.
const (
	NotificationCancelled            = "notifications/cancelled"
	NotificationProgress             = "notifications/progress"
	NotificationMessage              = "notifications/message"
	NotificationAcknowledged         = "notifications/subscriptions/acknowledged"
	NotificationToolsListChanged     = "notifications/tools/list_changed"
	NotificationPromptsListChanged   = "notifications/prompts/list_changed"
	NotificationResourcesListChanged = "notifications/resources/list_changed"
	NotificationResourceUpdated      = "notifications/resources/updated"
	NotificationTasks                = "notifications/tasks"
)

// MethodNotFound is the error for a method that the server does not have. For
// the handshake of earlier revisions it names the versions that are served, as
// that is all such a client can show its user.
//
// Spec: Versioning, Backward Compatibility.
func MethodNotFound(method string) *jsonrpc.Error {
	if method != MethodInitialize {
		return jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found: %s", shorten(method))
	}
	return &jsonrpc.Error{
		Code: jsonrpc.CodeMethodNotFound,
		Message: "Method not found: initialize was removed by the stateless revision " + Version +
			"; send each request with its protocol version in _meta. Supported versions: " + Version,
		Data: map[string]any{"supported": SupportedVersions()},
	}
}

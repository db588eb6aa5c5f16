#!/bin/sh
# Reports a bot to Companion with curl alone. Copy it and replace the sample data.
#
#     COMPANION_KEY=... COMPANION_URL=http://127.0.0.1:8081 sh plain.sh

set -eu
: "${COMPANION_KEY:?must be a key of the management API}"
url=${COMPANION_URL:-http://127.0.0.1:8081}
started_at=$(date +%s)
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT

# call METHOD PATH [OPTION...]: prints the answer, and fails unless it is a success.
# The key comes through a pipe: other users of the machine can see arguments.
call() {
    method=$1 path=$2
    shift 2
    printf 'header = "Authorization: Bearer %s"\n' "$COMPANION_KEY" |
        curl --config - --silent --show-error --fail-with-body --max-time 30 --request "$method" "$@" "$url$path"
    echo
}

# full_sync FILE: sends all guilds and all members with bound roles, one JSON object a line. Guilds and members that the
# file leaves out are removed.
full_sync() {
    call POST '/bot/sync?replace=guilds,members' --data-binary "@$1"
}

# remove_guild GUILD: call it when the bot leaves a guild.
remove_guild() {
    call DELETE "/bot/guilds/$1"
}

# heartbeat MEGABYTES SHARDS: call it every 20 s.
heartbeat() {
    call PUT /bot/clusters/cluster-0/heartbeat --data "{\"memory\": $1, \"started_at\": $started_at, \"shards\": $2}"
}

cat >"$lines" <<'LINES'
{"kind":"guild","id":"190000000000000001","name":"Harbour Town","icon":null,"members":1200,"owner":"190000000000000002","setup":true,"linked":false,"roles":{"MOD":["190000000000000003"]}}
{"kind":"guild","id":"190000000000000011","name":"Night Shift","icon":null,"members":40,"owner":"190000000000000002","setup":false,"linked":false,"roles":{}}
{"kind":"member","guild":"190000000000000001","user":"190000000000000004","roles":["190000000000000003"]}
LINES
full_sync "$lines"
rm "$lines"
remove_guild 190000000000000011
while :; do
    now=$(date +%s)
    heartbeat 64.5 "{\"0\": {\"heartbeatSent\": $now, \"heartbeatAcknowledged\": $now, \"latency\": 48}}" || true
    sleep 20
done

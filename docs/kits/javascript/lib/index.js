/**
 * Keeps a Companion service informed about a discord.js bot.
 *
 *     const companion = new Companion(client, { url: 'http://127.0.0.1:8081', key, guild: factsOfGuild });
 *
 * Events only mark what may have changed. A moment later the current state is read from the library's cache and
 * compared with what the service was sent last; the difference is sent in one request. A lost answer, a restart of the
 * service or a burst of events therefore needs no queue of events: marked guilds and members are compared again.
 *
 * `docs/kits/README.md` of the repository lists what is sent when, and what it costs.
 */

'use strict';

const { Companion } = require('./companion.js');
const { CompanionError } = require('./report.js');
const { SettingsProblem } = require('./settings.js');

module.exports = { Companion, CompanionError, SettingsProblem };

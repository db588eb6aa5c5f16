// Compiled by test-package-js.mjs: the types of `require`.
import kit = require('companion-discord');
import discord = require('discord.js');

const client = new discord.Client({ intents: [discord.GatewayIntentBits.Guilds] });
const companion: kit.Companion = new kit.Companion(client, { url: 'http://127.0.0.1:8081', key: 'a-key' });
companion.guildChanged(client.guilds.cache);

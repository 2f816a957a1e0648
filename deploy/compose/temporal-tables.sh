#!/bin/sh
# Makes the tables of Temporal's server in PostgreSQL, or brings them up to date; safe to repeat. temporal-sql-tool finds the
# database by SQL_PLUGIN, SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD. Usage: temporal-tables.sh FOLDER_OF_SCHEMAS
set -eu

# tables_of DATABASE SCHEMA
tables_of() {
  temporal-sql-tool --db "$1" create
  temporal-sql-tool --db "$1" setup-schema -v 0.0
  temporal-sql-tool --db "$1" update-schema -d "$2/versioned"
}

tables_of temporal "$1/temporal"
tables_of temporal_visibility "$1/visibility"

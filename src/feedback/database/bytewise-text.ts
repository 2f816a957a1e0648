import {
  type ColumnDefinitionNode,
  DataTypeNode,
  type KyselyPlugin,
  OperationNodeTransformer,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryId,
  type QueryResult,
  RawNode,
  type RootOperationNode,
  type UnknownRow,
} from 'kysely';

/**
 * Makes every `text` column of a migration `text COLLATE "C"`: PostgreSQL then compares and sorts bytes of UTF-8, as
 * SQLite does, whatever the locale of the database (docs/decisions/0032).
 */
export class BytewiseText implements KyselyPlugin {
  readonly #transformer = new BytewiseTextTransformer();

  transformQuery({ node, queryId }: PluginTransformQueryArgs): RootOperationNode {
    return this.#transformer.transformNode(node, queryId);
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return result;
  }
}

class BytewiseTextTransformer extends OperationNodeTransformer {
  protected override transformColumnDefinition(column: ColumnDefinitionNode, queryId?: QueryId): ColumnDefinitionNode {
    const transformed = super.transformColumnDefinition(column, queryId);
    const { dataType } = transformed;
    const isText = DataTypeNode.is(dataType) && dataType.dataType === 'text';
    return isText ? { ...transformed, dataType: RawNode.createWithSql('text collate "C"') } : transformed;
  }
}

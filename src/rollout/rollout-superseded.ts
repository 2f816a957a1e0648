/** Another version has become current meanwhile: the target was left as it is. */
export class RolloutSuperseded extends Error {
  override readonly name = 'RolloutSuperseded';

  constructor(version: string) {
    super(`${version} is not the current version any more: the target was left as it is`);
  }
}

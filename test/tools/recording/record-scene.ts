import type { SceneSettings, Stage } from './stage.ts';

/** Something that happens to docferry, of which histories are kept. */
export interface RecordingScene {
  name: string;
  settings: SceneSettings;
  /** Plays on a server that suggests early to continue as new. */
  longHistory?: true;
  play(stage: Stage): Promise<void>;
}
